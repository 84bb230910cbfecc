/** The views of a store's page, in the order of their tabs: those that need only sums by context. */

import type { View } from "../shell/app";
import { flame } from "../views/flame/flame";
import { sandwich } from "../views/sandwich/sandwich";
import { tree } from "../views/tree/tree";
import { cellDiff } from "./diff";

export const STORE_VIEWS: readonly View[] = [flame, sandwich, tree, cellDiff];
