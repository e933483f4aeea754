// Concepts in the page's addresses: English ones by their text, others by their whole URI.

const ENGLISH = "/c/en/";

export function textOf(uri) {
  const parts = uri.split("/");
  return (parts[1] === "c" ? parts.slice(3).join("/") : parts.slice(2).join("/")).replaceAll("_", " ");
}

const word = (uri) => encodeURIComponent(uri.startsWith(ENGLISH) ? textOf(uri) : uri);

/** Where the page shows a concept. */
export const address = (uri) => `#/explore/${word(uri)}`;

/** Where it shows the paths between two. */
export const pathsAddress = (source, target) => `#/explore/${encodeURIComponent(source)}/${encodeURIComponent(target)}`;
