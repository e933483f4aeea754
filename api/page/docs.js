// The API reference, made from openapi.json: each request with its parameters and responses, a form to try it, and the schemas.

import { copyButton, fault, find, h, show } from "./dom.js";
import { request } from "./service.js";

let schemas = {};

const nameOf = (schema) => schema.$ref?.split("/").pop();
const anchor = (name) => `form-${name}`;
const link = (name) => h("a", { href: `#${anchor(name)}` }, name);
const WORDS = { string: "text", integer: "whole number", number: "number", boolean: "true or false", object: "object", null: "null" };

/** A type in words; schemas are links. */
function kind(schema) {
  if (!schema || Object.keys(schema).length === 0) return "any";
  if (schema.$ref) return link(nameOf(schema));
  if (schema.anyOf) return schema.anyOf.flatMap((one, place) => [place ? " or " : "", kind(one)]);
  if (schema.type === "array") return ["list of ", kind(schema.items)];
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return ["object of ", kind(schema.additionalProperties)];
  return WORDS[schema.type] ?? "any";
}

/** Limits and the default in words. */
function bounds(schema) {
  const limits = [];
  const inner = [schema, ...(schema.anyOf ?? [])];
  const first = (name) => inner.map((one) => one[name]).find((value) => value !== undefined);
  const [minimum, maximum, above] = [first("minimum"), first("maximum"), first("exclusiveMinimum")];
  if (minimum !== undefined && Math.abs(minimum) < 2 ** 53) limits.push(`>= ${minimum}`);
  if (above !== undefined) limits.push(`> ${above}`);
  if (maximum !== undefined && Math.abs(maximum) < 2 ** 53) limits.push(`<= ${maximum}`);
  if (first("maxLength") !== undefined) limits.push(`at most ${first("maxLength")} characters`);
  if (schema.default !== undefined && schema.default !== null) limits.push(`default ${JSON.stringify(schema.default)}`);
  return limits.join(", ");
}

const row = (name, needed, schema, text) => h("tr", {},
  h("td", {}, h("code", {}, name), needed ? h("small", {}, " required") : null),
  h("td", {}, kind(schema), bounds(schema) ? h("small", {}, h("br"), bounds(schema)) : null),
  h("td", {}, marked(text ?? "")));

const rows = (label, lines) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {},
  h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "name"), h("th", { scope: "col" }, "value"), h("th", { scope: "col" }, "meaning"))),
  h("tbody", {}, lines)));

/** Text with `words` in backticks as code. */
const marked = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

function card(path, method, operation) {
  const place = h("article", { class: "card operation", id: operation.operationId });
  const parameters = operation.parameters ?? [];
  const body = operation.requestBody?.content?.["application/json"];
  const title = `${method.toUpperCase()} ${path}`;
  show(place,
    h("h2", {}, h("span", { class: "method" }, method.toUpperCase()), path),
    h("p", {}, h("b", {}, `${operation.summary}.`), " ", marked(operation.description ?? "")),
    parameters.length ? h("details", {}, h("summary", {}, "Parameters"), rows(`Parameters of ${title}`,
      parameters.map((one) => row(one.name, one.required, one.schema, one.description)))) : null,
    body ? h("p", {}, "The body is JSON: ", kind(body.schema), ".") : null,
    h("details", {}, h("summary", {}, "Answers"), rows(`Answers of ${title}`, Object.entries(operation.responses).map(([status, one]) => {
      const [type, content] = Object.entries(one.content ?? {})[0] ?? [];
      return h("tr", {}, h("td", {}, h("code", {}, status)), h("td", {}, content?.schema ? kind(content.schema) : type ?? ""),
        h("td", {}, status === "200" ? "success" : one.description));
    }))),
    h("details", { class: "trial" }, h("summary", {}, "Try it"), trial(path, method, operation, parameters, body)));
  return place;
}

/** The form that sends a request, and shows it as a curl command with the response. */
function trial(path, method, operation, parameters, body) {
  const id = operation.operationId;
  const example = (one) => (one.schema.examples ?? [one.schema.default])[0] ?? "";
  const inputs = parameters.map((one) => [one, h("input", {
    id: `${id}-${one.name}`, value: example(one), required: one.required, spellcheck: "false", autocomplete: "off",
  })]);
  const examples = Object.values(body?.examples ?? {});
  const pretty = (value) => JSON.stringify(value, null, 2);
  const text = body && h("textarea", { id: `${id}-body`, class: "code", rows: "10", spellcheck: "false" });
  if (text) text.value = pretty(examples[0]?.value ?? {});
  const choice = examples.length > 1 && h("select", { id: `${id}-example` }, examples.map((one, place) => h("option", { value: place }, one.summary)));
  if (choice) choice.addEventListener("change", () => { text.value = pretty(examples[choice.value].value); });
  const status = h("p", { class: "status", role: "status" });
  const answer = h("pre", { class: "answer", tabindex: "0", role: "region", "aria-label": `Answer of ${method} ${path}` });
  const command = h("div");
  const field = (label, input) => h("div", { class: "field" }, h("label", { for: input.id }, label), input);
  const form = h("form", { class: "try", autocomplete: "off", "aria-label": `Try ${method} ${path}` },
    inputs.length ? h("div", { class: "fields" }, inputs.map(([one, input]) => field(h("code", {}, one.name), input))) : null,
    choice ? field("Example", choice) : null, text ? field("Body", text) : null,
    h("div", { class: "actions" }, h("button", { type: "submit", class: "primary" }, "Send"), status), command, answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    let target = path.slice(1);
    for (const [one, input] of inputs) {
      if (one.in === "path") target = target.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (input.value !== "") for (const value of isList(one.schema) ? input.value.split(",") : [input.value]) query.append(one.name, value.trim());
    }
    if (query.size) target += `?${query}`;
    const began = performance.now();
    status.textContent = "…";
    try {
      const response = await request(target, { method: method.toUpperCase(), body: text ? text.value : null });
      const came = await response.text();
      status.textContent = `${response.status} ${response.statusText} in ${Math.round(performance.now() - began)} ms`;
      answer.textContent = shown(came, response.headers.get("Content-Type") ?? "");
    } catch (error) {
      status.textContent = error.message;
      answer.textContent = "";
    }
    const curl = `curl ${text ? `--json ${quoted(text.value.replace(/\s*\n\s*/g, " "))} ` : ""}${quoted(new URL(target, document.baseURI).href)}`;
    show(command, h("p", { class: "signature" }, h("code", {}, curl), copyButton(curl, "the command")));
  });
  return form;
}

const isList = (schema) => [schema, ...(schema.anyOf ?? [])].some((one) => one.type === "array");
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function shown(text, type) {
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function form(name, schema) {
  const needed = new Set(schema.required ?? []);
  const members = schema.enum
    ? schema.enum.map((value) => row(value, false, { type: schema.type }))
    : Object.entries(schema.properties ?? {}).map(([member, one]) => row(member, needed.has(member), one, one.description));
  return h("article", { class: "card form", id: anchor(name) }, h("h3", {}, name), h("p", {}, marked(schema.description ?? "")),
    rows(schema.enum ? `Values of ${name}` : `Members of ${name}`, members));
}

async function start() {
  const description = await (await request("openapi.json")).json();
  schemas = description.components?.schemas ?? {};
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation, group: operation.tags?.[0] ?? "service" })));
  const groups = [...new Set(operations.map((one) => one.group))];
  show(find("contents"), groups.map((group) => [h("p", {}, group), operations.filter((one) => one.group === group).map((one) =>
    h("a", { href: `#${one.operation.operationId}` }, h("span", { class: "method" }, one.method.toUpperCase()), one.path))]),
  h("p", {}, h("a", { href: "#forms" }, h("span", { class: "method" }, "JSON"), "Schemas")));
  show(find("operations"), operations.map((one) => card(one.path, one.method, one.operation)),
    h("h2", { id: "forms", class: "after" }, "Schemas"), Object.entries(schemas).map(([name, schema]) => form(name, schema)));
  find("about").textContent = `${description.info.title} ${description.info.version}, OpenAPI ${description.openapi}`;
  if (location.hash.length > 1) find(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("main").focus();
});
start().catch((error) => fault(find("fault"), error));
