// Loaded into each process of the service before its own code: a number in a file shifts the machine's clock. The product itself
// has no such code.
import { readFileSync, watchFile } from "node:fs";

const file = process.env.TORTURE_CLOCK!;
const realNow = Date.now;
let stepMs = 0;
const readStep = () => {
  stepMs = Number(readFileSync(file, "utf8"));
};
readStep();
watchFile(file, { interval: 200, persistent: false }, readStep);
Date.now = () => realNow() + stepMs;
