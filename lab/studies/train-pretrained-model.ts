import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { trainInWorlds } from "../trial/train-pretrained-model.ts";

const path = join(import.meta.dirname, "../../src/engine/learned/prior.json");
const text = `${JSON.stringify(trainInWorlds(Number(process.argv[2] ?? 6000), console.log).pool())}\n`;
writeFileSync(path, text);
console.log(`${path}: ${Math.round(text.length / 1024)} kB`);
