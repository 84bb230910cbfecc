import "./elements/style.css";
import "./page/bands.css";
import "./elements/shared.css";
import { load } from "./data/load";
import { fill, h } from "./elements/dom";
import { isHeap } from "./heap/load";
import { openHeap } from "./heap/page";
import { recordingPage, openPage } from "./page/page";
import { isStore } from "./store/load";
import { openStore } from "./store/page";
import { STORE_VIEWS } from "./store/views";
import { VIEWS } from "./views/index";

const root = document.getElementById("app")!;
const store = isStore();
const heap = isHeap();
const what = store ? "store" : heap ? "heap" : "recording";
root.append(
  h("p", { class: "loading", role: "status" }, `Reading the ${what} …`),
);

const opened: Promise<unknown> = store
  ? openStore(root, STORE_VIEWS)
  : heap
    ? openHeap(root)
    : load().then((recordings) =>
        openPage(root, recordingPage(recordings, VIEWS)),
      );
opened.catch((error: unknown) => {
  fill(
    root,
    h(
      "p",
      { class: "loading", role: "alert" },
      `The ${what} could not be read: `,
      error instanceof Error ? error.message : String(error),
    ),
  );
});
