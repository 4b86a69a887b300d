#!/usr/bin/env node
import module from "node:module";

// Plain JavaScript, so that a Node that is too old for the rest can still say so.
const [major, minor] = process.versions.node.split(".").map(Number);
// From 22.18 on Node runs TypeScript by itself; 23 came between, and ended.
if (major < 22 || major === 23 || (major === 22 && minor < 18)) {
  console.error(
    `dunlin needs Node 22.18 or newer, and not 23; this is ${process.version}. Run "npm ci" in the project's folder, which brings a Node, then "npx dunlin …" or "npm run dunlin -- …" there.`,
  );
  process.exit(78);
}
// Types are stripped once, not at each start.
module.enableCompileCache?.();
await import("../src/main.ts");
