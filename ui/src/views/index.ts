/** The views in the order of their tabs. */

import type { View } from "../shell/app";
import { calls } from "./calls/calls";
import { diff } from "./diff/diff";
import { flame } from "./flame/flame";
import { flow } from "./flow/flow";
import { locks } from "./locks/locks";
import { memory } from "./memory/memory";
import { overview } from "./overview/overview";
import { sandwich } from "./sandwich/sandwich";
import { source } from "./source/source";
import { tasks } from "./tasks/tasks";
import { timeline } from "./timeline/timeline";
import { tree } from "./tree/tree";

export const VIEWS: readonly View[] = [
  overview,
  flame,
  sandwich,
  tree,
  timeline,
  locks,
  tasks,
  calls,
  flow,
  memory,
  source,
  diff,
];
