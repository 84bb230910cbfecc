/** Objects, types and references in words. */

import { displayName } from "../elements/format";
import type { HeapPath, PathStep } from "./load";

const MAX_NAME = 90;

/** What a type belongs to, for its colour: `java.util.HashMap` to java.util. */
export function packageOf(type: string): string {
  const plain = type.replace(/\[\]/g, "").split("$")[0];
  const end = plain.lastIndexOf(".");
  return end > 0 ? plain.slice(0, end) : plain;
}

export function objectName(type: string, text: string | null): string {
  if (text === null) return displayName(type, MAX_NAME);
  const isClass = type === "java.lang.Class" || type === "type";
  const words =
    isClass || type === "module"
      ? `${isClass ? "class" : type} ${text}`
      : `${type} "${text}"`;
  return displayName(words, MAX_NAME);
}

export function reference(step: PathStep): string {
  if (step.edge === "index" || step.edge === "key")
    return `[${displayName(step.name || "…", MAX_NAME)}]`;
  if (step.edge === "superclass" || step.edge === "loader")
    return `its ${step.edge}`;
  return `.${displayName(step.name ?? step.edge ?? "", MAX_NAME)}`;
}

export function rootName(path: HeapPath): string {
  const { kind, name } = path.root;
  return displayName(name ? `${kind} ${name}` : kind, 200);
}
