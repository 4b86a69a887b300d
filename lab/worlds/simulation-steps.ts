import { DAY_MS } from "./keyed-uniform.ts";

/** People and companies are simulated in eight steps a day, enough to distinguish office hours, nights and bank runs. */
export const STEPS_PER_DAY = 8;
export const STEP_MS = DAY_MS / STEPS_PER_DAY;

/** Returns the number of steps since January 1, 1970. */
export const stepOf = (at: number) => Math.floor(at / STEP_MS);
