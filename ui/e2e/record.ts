/** Before all tests: real programs are recorded, and one recording is made whose names mean harm. */

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

export const ROOT = resolve(import.meta.dirname, "../..");
export const SONDE = join(ROOT, ".venv/bin/sonde");

/** A label that means harm. */
export const HOSTILE_HOST = `<img src=x onerror="alert(1)"> & 'co'`;

/** The folder of the recordings of this run. */
export function folder(): string {
  const known = process.env.SONDE_RECORDINGS;
  if (!known) throw new Error("nothing was recorded for these tests");
  return known;
}

const started = promisify(execFile);

export default async function record(): Promise<() => void> {
  const made = mkdtempSync(join(tmpdir(), "sonde-page-"));
  process.env.SONDE_RECORDINGS = made;
  const shop = join(ROOT, "examples/checkout.py");
  const waited = "cpu,waits,locks";
  const recorded = ([name, what, ...command]: string[]) =>
    started(SONDE, [
      ...["run", "--what", what!, "-o", join(made, `${name}.sonde`)],
      ...command,
    ]);
  // Most of their time these programs wait.
  await Promise.all(
    [
      ["shop", waited, shop],
      ["repaired", waited, shop, "--repaired"],
      ["spans", waited, join(ROOT, "tests/truth/programs/spans.py")],
      ["counted", "cpu,calls", shop],
      ["objects", "cpu,objects", join(ROOT, "ui/e2e/survives.py")],
    ].map(recorded),
  );
  const calls = ["run", "--what", "flow", "--flow-events"];
  execFileSync(
    SONDE,
    [...calls, "-o", join(made, "flow.sonde"), join(ROOT, "ui/e2e/calling.py")],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  // More who want to run than there are processors: each thread loses something.
  await recorded([
    ...["rivals", "cpu,threads", "--no-children"],
    join(ROOT, "ui/e2e/rivals.py"),
  ]);
  for (const [name, ...labels] of [
    ["shop", "service=shop", "version=1", "host=a"],
    ["repaired", "service=shop", "version=2", "host=b"],
    ["spans", "service=spans", "version=2", "host=a"],
    ["rivals", "service=rivals", `host=${HOSTILE_HOST}`],
  ]) {
    const words = labels.flatMap((label) => ["--label", label]);
    const recording = join(made, `${name}.sonde`);
    execFileSync(
      SONDE,
      ["fleet", "add", join(made, "store"), recording, ...words],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
  }
  execFileSync(
    join(ROOT, ".venv/bin/python"),
    [join(ROOT, "tests/web/made.py"), made],
    { env: { ...process.env, PYTHONPATH: join(ROOT, "tests") } },
  );
  return () => rmSync(made, { recursive: true });
}
