import type { Belief } from "./belief.ts";
import { withCodeRow } from "./layout.ts";

/** The code of a try's decline, as far as the next try hangs on it. */
export interface Declined {
  /** The weight of another code than the case began with, beside that one; null: it is the same. */
  name: number | null;
  /** Where the row of the code begins; null: nobody said one. */
  row: number | null;
}

/** After a try that was declined: what is known of its code. The same reason may come with several codes, and each has its own time to wait. */
export function noteDeclined(belief: Belief, { name, row }: Declined) {
  belief.thenName = name;
  if (row !== null) belief.rows = withCodeRow(belief.rows, row);
}
