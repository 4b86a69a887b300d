#!/usr/bin/env node
import module from "node:module";

// Plain JavaScript, so that a Node that is too old for the rest can still say so.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  console.error(
    `dunlin needs Node 24.12 or newer, and this is ${process.version}. The project brings its own: run "npm ci" in its folder, then "npx dunlin …" or "npm run dunlin -- …" there.`,
  );
  process.exit(78);
}
// Types are stripped once, not at each start.
module.enableCompileCache?.();
await import("../src/main.ts");
