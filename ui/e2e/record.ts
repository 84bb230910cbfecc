/** Before all tests: real programs are recorded, and one recording is made whose names mean harm. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

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

export default function record(): () => void {
  const made = mkdtempSync(join(tmpdir(), "sonde-page-"));
  process.env.SONDE_RECORDINGS = made;
  const shop = join(ROOT, "examples/checkout.py");
  const waited = "cpu,waits,locks";
  for (const [name, what, ...command] of [
    ["shop", waited, shop],
    ["repaired", waited, shop, "--repaired"],
    ["spans", waited, join(ROOT, "tests/truth/programs/spans.py")],
    ["counted", "cpu,calls", shop],
    ["tasks", "+tasks", join(ROOT, "tests/truth/programs/tasks.py"), "c", "20"],
  ]) {
    const out = join(made, `${name}.sonde`);
    execFileSync(SONDE, ["run", "--what", what, "-o", out, ...command], {
      stdio: ["ignore", "ignore", "pipe"],
    });
  }
  execFileSync(
    SONDE,
    ["run", "--what", "cpu,objects", "-o", join(made, "objects.sonde")].concat(
      join(ROOT, "ui/e2e/survives.py"),
    ),
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const calls = ["run", "--what", "flow", "--flow-events"];
  execFileSync(
    SONDE,
    [...calls, "-o", join(made, "flow.sonde"), join(ROOT, "ui/e2e/calling.py")],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  // More who want to run than there are processors: each thread loses something.
  execFileSync(
    SONDE,
    ["run", "--what", "cpu,threads", "--no-children", "-o"].concat(
      join(made, "rivals.sonde"),
      join(ROOT, "ui/e2e/rivals.py"),
    ),
    { stdio: ["ignore", "ignore", "pipe"] },
  );
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
