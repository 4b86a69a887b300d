#!/usr/bin/env node
import module from "node:module";

// Plain JavaScript, because a Node that is too old must still be able to print the error.
const [major, minor] = process.versions.node.split(".").map(Number);
// Node strips types by itself from 22.18 on. Node 23 is an ended release in between.
if (major < 22 || major === 23 || (major === 22 && minor < 18)) {
  console.error(
    `dunlin needs Node 22.18 or newer, but not 23; this is ${process.version}. Run "npm ci" in the project's folder to install a suitable Node, then "npx dunlin …" or "npm run dunlin -- …" there.`,
  );
  process.exit(78);
}
// Caches stripped types and compiled code.
module.enableCompileCache?.();
await import("../src/main.ts");
