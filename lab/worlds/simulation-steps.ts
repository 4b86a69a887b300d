import { DAY_MS } from "./keyed-uniform.ts";

/** Lives of people and companies move eight times a day: enough to tell office hours, nights and the bank's runs apart. */
export const STEPS_PER_DAY = 8;
export const STEP_MS = DAY_MS / STEPS_PER_DAY;

/** Steps since 1 January 1970. */
export const stepOf = (at: number) => Math.floor(at / STEP_MS);
