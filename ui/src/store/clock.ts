/** Moments as a store's page shows them: in UTC, as finely as they are divided. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** 2026-11-15. */
export function day(ms: number): string {
  return iso(ms).slice(0, 10);
}

/** The time of day; the day itself where a step is as long as one. */
export function clock(ms: number, step: number): string {
  if (step >= DAY) return day(ms);
  const text = iso(ms);
  if (step % MINUTE === 0) return text.slice(11, 16);
  return text.slice(11, step % SECOND === 0 ? 19 : 23);
}

/** 2026-11-15 12:00:05 – 12:00:10 UTC. */
export function range(from: number, to: number): string {
  const step = [DAY, MINUTE, SECOND].find(
    (one) => from % one === 0 && to % one === 0,
  );
  if (step === DAY) return `${day(from)} – ${day(to)} UTC`;
  const timeOfDay = (ms: number) => clock(ms, step ?? 1);
  const end =
    day(from) === day(to) ? timeOfDay(to) : `${day(to)} ${timeOfDay(to)}`;
  return `${day(from)} ${timeOfDay(from)} – ${end} UTC`;
}

/** As `--from` and `--to` take it. */
export function iso(ms: number): string {
  return new Date(ms).toISOString().slice(0, 23);
}

/** 500 ms, 15 s, 2 h: how long a column is. */
export function length(ms: number): string {
  const units = [
    [DAY, "d"],
    [60 * MINUTE, "h"],
    [MINUTE, "min"],
    [SECOND, "s"],
    [1, "ms"],
  ] as const;
  const [size, unit] = units.find(([size]) => ms >= size && ms % size === 0)!;
  return `${ms / size} ${unit}`;
}
