/** Bundles the page's script and stylesheet into the Python package, with the licences it owes. */

import { build } from "esbuild";
import { existsSync, readFileSync } from "node:fs";

const out = process.argv[2] ?? new URL("../src/opelda/report/page/", import.meta.url).pathname;
const common = { bundle: true, minify: true, legalComments: "none", logLevel: "warning" };

/** The licences of the packages that are in the bundle, each text once. */
function licences(inputs) {
  const packages = new Map();
  for (const path of Object.keys(inputs)) {
    const name = path.match(/node_modules\/([^/]+)\//)?.[1];
    if (!name || packages.has(name)) continue;
    const file = new URL(`node_modules/${name}/LICENSE`, import.meta.url);
    packages.set(name, existsSync(file) ? readFileSync(file, "utf8").trim() : "");
  }
  const texts = new Map();
  for (const [name, text] of [...packages].sort()) {
    const [copyright, terms] = split(text);
    const known = texts.get(terms) ?? { names: [], copyrights: new Set() };
    known.names.push(name);
    known.copyrights.add(copyright);
    texts.set(terms, known);
  }
  return [...texts].map(([terms, { names, copyrights }]) =>
    [names.join(", ") + ":", ...copyrights, "", terms].join("\n"));
}

/** A licence's lines of copyright, and the rest. */
function split(text) {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => line && !line.startsWith("Copyright"));
  return [lines.slice(0, end).filter(Boolean).join("\n"), lines.slice(end).join("\n")];
}

const script = { ...common, format: "iife", target: "es2022", entryPoints: ["src/page.js"] };
const { metafile } = await build({ ...script, metafile: true, write: false });
const banner = `/*!\nContains\n\n${licences(metafile.inputs).join("\n\n")}\n*/`;
await build({ ...script, banner: { js: banner }, outfile: `${out}page.js` });
await build({ ...common, entryPoints: ["src/style/page.css"], outfile: `${out}page.css` });
