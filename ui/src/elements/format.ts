/** Numbers with units, the same as in the text reports; names without control characters. */

import type { Unit } from "../profile/profile";
import type { Time } from "../profile/selection";

/** What the time that is counted is called, as in the text reports. */
export const TIMES: Readonly<Record<Time, string>> = {
  running: "on-CPU",
  waiting: "off-CPU",
  wall: "wall-clock",
};

const UNITS: readonly (readonly [string, number])[] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];
const MINUTE = 60e9;

/** Three digits and a unit: 12.3 s, 450 µs; from two minutes on 2 min 5 s, 3 h 20 min. */
export function duration(ns: number): string {
  if (ns < 0) return `-${duration(-ns)}`;
  if (ns >= 2 * MINUTE) {
    const seconds = Math.round(ns / 1e9);
    if (seconds < 7200)
      return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    const minutes = Math.round(seconds / 60);
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  for (const [at, [unit, size]] of UNITS.entries()) {
    if (ns < size) continue;
    const digits = size > 1 ? threeDigits(ns / size) : String(Math.round(ns));
    // 999.7 µs rounds to 1000 µs, shown as 1.00 ms.
    if (digits === "1000" && at > 0) return `1.00 ${UNITS[at - 1][0]}`;
    return `${digits} ${unit}`;
  }
  return "0 s";
}

/** Three digits of bytes and a unit: 12.3 MiB, 450 B. */
export function amount(bytes: number): string {
  if (bytes < 0) return `-${amount(-bytes)}`;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (bytes < 1024)
      return `${unit === "B" ? bytes.toFixed(0) : threeDigits(bytes)} ${unit}`;
    bytes /= 1024;
  }
  return `${threeDigits(bytes)} TiB`;
}

/** Time, or an amount of memory. */
export function measured(value: number, unit: Unit): string {
  return unit === "bytes" ? amount(value) : duration(value);
}

/** 0.423 is 42 %; what rounds to zero is shown as less than the last digit. */
export function percent(share: number, digits = 1): string {
  const least = 10 ** -digits;
  if (!Number.isFinite(share)) return "–";
  if (share > 0 && share * 100 < least / 2) return `< ${least} %`;
  return `${(share * 100).toFixed(digits)} %`;
}

/** A part of a whole, as a percentage; a part of nothing is a dash. */
export function percentOf(value: number, whole: number, digits = 1): string {
  return whole > 0 ? percent(value / whole, digits) : "–";
}

/** 1 sample, 12,000 samples. */
export function count(
  number: number,
  thing: string,
  things = `${thing}s`,
): string {
  return `${thousands(number)} ${number === 1 ? thing : things}`;
}

export function thousands(number: number): string {
  return Math.round(number)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A moment of the recording: 2.345 s. */
export function moment(ns: number): string {
  return `${(ns / 1e9).toFixed(3)} s`;
}

// Control characters, and those that change the direction of text or are invisible.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with everything written out that would not show as itself. */
export function printable(text: string): string {
  return text.replace(
    UNSEEN,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}

/** Printable, and cut in the middle: both ends of a qualified name say more than its middle. */
export function shorten(text: string, most = 120): string {
  // Cut before looking for odd characters: a name may be very long.
  const ends =
    text.length > 4 * most
      ? text.slice(0, 2 * most) + text.slice(-2 * most)
      : text;
  const shown = printable(ends);
  if (shown.length <= most) return shown;
  const head = Math.ceil((most - 1) / 2);
  return `${shown.slice(0, head)}…${shown.slice(shown.length - (most - 1 - head))}`;
}

/** The name of a function or thread, which may be empty, but must be visible. */
export function displayName(text: string, most = 120): string {
  return shorten(text, most).trim() || "(no name)";
}

/** A file and line: of a library from its name on, else from the last folder on. */
export function sourceLocation(file: string, line: number, most = 60): string {
  if (!file) return "";
  const location = displayPath(file) + (line > 0 ? `:${line}` : "");
  if (location.length <= most) return printable(location);
  const parts = location.split("/");
  for (let start = 1; start < parts.length; start++) {
    const rest = `…/${parts.slice(start).join("/")}`;
    if (rest.length <= most) return printable(rest);
  }
  return shorten(parts[parts.length - 1], most);
}

function displayPath(file: string): string {
  const library = /\/(?:site-packages|dist-packages)\/(.+)$/.exec(file);
  if (library) return library[1];
  const standard = /\/lib[^/]*\/python3\.[^/]*\/(.+)$/.exec(file);
  if (standard) return standard[1];
  return file.startsWith("/") ? file.split("/").slice(-2).join("/") : file;
}

function threeDigits(value: number): string {
  if (value < 9.995) return value.toFixed(2);
  if (value < 99.95) return value.toFixed(1);
  return value.toFixed(0);
}
