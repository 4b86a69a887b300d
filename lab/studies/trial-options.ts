import { parseArgs } from "node:util";
import { WORLDS } from "../trial/open-world.ts";

/** Defaults: `defaults`, all worlds and those in `more`. */
export function parseTrialOptions(defaults: { customers: number; seeds: readonly number[]; more?: readonly string[] }) {
  const { values } = parseArgs({
    options: {
      customers: { type: "string", default: String(defaults.customers) },
      seeds: { type: "string", default: defaults.seeds.join(",") },
      worlds: { type: "string", default: [...Object.keys(WORLDS), ...(defaults.more ?? [])].join(",") },
    },
  });
  return {
    customers: Number(values.customers),
    seeds: values.seeds.split(",").map(Number),
    worlds: values.worlds.split(","),
  };
}
