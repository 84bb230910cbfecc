/**
 * Which functions of two recordings are the same.
 *
 * Name and file must be. The first line distinguishes functions of one name (lambdas, overridden
 * ones), but it moves when the file is edited above; so where lines differ, functions of one
 * name are taken in their order, if both recordings have as many.
 */
import type { Fn } from "../../data/recording";

export interface FunctionMatch {
  /** All of both, as the new recording has them where both do. */
  functions: Fn[];
  /** By number in the base's, in the new one's list: the number here. */
  ofBase: Int32Array;
  ofFresh: Int32Array;
}

export function matchFunctions(
  base: readonly Fn[],
  fresh: readonly Fn[],
): FunctionMatch {
  const functions: Fn[] = [];
  const ofFresh = Int32Array.from(fresh, (fn) => functions.push(fn) - 1);
  const ofBase = new Int32Array(base.length).fill(-1);
  const named = byNameAndFile(fresh);
  for (const [name, mine] of byNameAndFile(base)) {
    const theirs = named.get(name) ?? [];
    const left = theirs.filter((there) => {
      const same = mine.find((here) => base[here]!.line === fresh[there]!.line);
      if (same !== undefined) ofBase[same] = ofFresh[there]!;
      return same === undefined;
    });
    const alone = mine.filter((here) => ofBase[here]! < 0);
    if (alone.length === left.length) {
      const inOrder = (list: readonly Fn[]) => (a: number, b: number) =>
        list[a]!.line - list[b]!.line;
      left.sort(inOrder(fresh));
      alone
        .sort(inOrder(base))
        .forEach((here, i) => (ofBase[here] = ofFresh[left[i]!]!));
    }
    for (const here of mine)
      if (ofBase[here]! < 0) ofBase[here] = functions.push(base[here]!) - 1;
  }
  return { functions, ofBase, ofFresh };
}

function byNameAndFile(functions: readonly Fn[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  functions.forEach((fn, i) => {
    const key = `${fn.name}\0${fn.file}`;
    const group = found.get(key);
    if (group) group.push(i);
    else found.set(key, [i]);
  });
  return found;
}
