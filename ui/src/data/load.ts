import type { Recording } from "./recording";

/** The recordings of this page: out of the page itself, or from the server it came from. */
export function load(): Promise<Recording[]> {
  return Promise.reject(new Error("not yet"));
}
