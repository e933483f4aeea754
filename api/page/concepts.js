// Concepts in the page's URLs: English ones by their text, others by their URI.

const ENGLISH = "/c/en/";

export function textOf(uri) {
  const parts = uri.split("/");
  return (parts[1] === "c" ? parts.slice(3).join("/") : parts.slice(2).join("/")).replaceAll("_", " ");
}

const word = (uri) => encodeURIComponent(uri.startsWith(ENGLISH) ? textOf(uri) : uri);

/** The page's URL of a concept. */
export const address = (uri) => `#/explore/${word(uri)}`;

/** The page's URL of the paths between two concepts. */
export const pathsAddress = (source, target) => `#/explore/${encodeURIComponent(source)}/${encodeURIComponent(target)}`;
