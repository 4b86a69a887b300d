// `npm run proof -- isolation [--seeds N --operations N --first S]`: checks that a merchant's view does not depend on any other
// merchant.
import { parseArgs } from "node:util";
import { compareLives } from "./isolation/compare-lives.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string" }, operations: { type: "string" }, first: { type: "string" } },
});
const seeds = Number(values.seeds ?? 50);
const operations = Number(values.operations ?? 10_000);
const first = Number(values.first ?? 1);
let differing = 0;
for (let seed = first; seed < first + seeds; seed++) {
  const began = performance.now();
  const { alone, beside, stranger } = await compareLives({ seed, operations });
  const at = alone.findIndex((line, index) => line !== beside[index]);
  const same = at < 0 && alone.length === beside.length;
  if (!same) differing++;
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `seed ${seed}: ${alone.length} lines ${same ? "the same" : "DIFFER"}; the stranger did ${stranger.operations} things, ${stranger.taken} of them taken; ${seconds} s`,
  );
  if (!same) console.log(`  alone:  ${alone[at]?.slice(0, 2_000)}\n  beside: ${beside[at]?.slice(0, 2_000)}`);
}
// The tests' server would keep this process running.
process.exit(differing > 0 ? 1 : 0);
