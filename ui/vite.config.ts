import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

/**
 * Puts the script and the style into the page: one file that works from disk, and whose
 * Content-Security-Policy can name both by their hashes.
 */
function inlined(): Plugin {
  return {
    name: "inlined",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset")
        throw new Error("there is no page to put things into");
      let html = String(page.source);
      for (const [name, made] of Object.entries(bundle)) {
        if (made === page) continue;
        const tag = new RegExp(
          `<(script|link)\\b[^>]*(src|href)="[^"]*${name}"[^>]*>(</script>)?`,
        );
        if (!tag.test(html)) throw new Error(`the page does not use ${name}`);
        if (made.type === "chunk") {
          // Inside a script element only this ends it; in strings and regular expressions
          // both spellings mean the same.
          const code = made.code.replaceAll("</script", "<\\/script");
          html = html.replace(
            tag,
            () => `<script type="module">${code}</script>`,
          );
        } else {
          html = html.replace(
            tag,
            () => `<style>${String(made.source)}</style>`,
          );
        }
        delete bundle[name];
      }
      page.source = html;
      page.fileName = "page.html";
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [inlined()],
  build: {
    outDir: resolve(import.meta.dirname, "../src/sonde/web"),
    // Python lives there too.
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    chunkSizeWarningLimit: 2000,
  },
});
