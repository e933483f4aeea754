"""A hint to the processor, for compiled code: these array entries are wanted soon.

Answers about pairs drawn at random lie at random places of arrays that no cache holds; most of the time would go into waiting for
memory, one pair after another. A loop that names the places of pairs to come lets those waits pass side by side.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _prefetch(_context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        read, keep, of_data = word(0), word(3), word(1)
        builder.call(hint, [builder.bitcast(builder.gep(data, [arguments[1]]), byte), read, keep, of_data])
        return context.get_dummy_value()

    return types.void(array, place), generate


# ``prefetch(array, place)``: ask for the cache line of ``array[place]``; the array has one dimension, any place is safe.
prefetch: Any = intrinsic(_prefetch)
