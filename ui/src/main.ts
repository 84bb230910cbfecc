import "./shell/style.css";
import { load } from "./data/recording";
import { h, fill } from "./shell/dom";
import { openPage } from "./shell/page";
import { VIEWS } from "./views/index";

const root = document.getElementById("app")!;
root.append(
  h("p", { class: "loading", role: "status" }, "Reading the recording …"),
);

load().then(
  (recordings) => openPage(root, recordings, VIEWS),
  (error: unknown) => {
    fill(
      root,
      h(
        "p",
        { class: "loading", role: "alert" },
        "The recording could not be read: ",
        error instanceof Error ? error.message : String(error),
      ),
    );
  },
);
