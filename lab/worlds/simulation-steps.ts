import { DAY_MS } from "./keyed-uniform.ts";

/** Enough to distinguish office hours, nights and bank runs. */
export const STEPS_PER_DAY = 8;
export const STEP_MS = DAY_MS / STEPS_PER_DAY;

export const stepOf = (at: number) => Math.floor(at / STEP_MS);
