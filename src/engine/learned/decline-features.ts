import type { CasePosterior } from "./case-posterior.ts";
import { withCodeRow } from "./model-layout.ts";

/** The code of a try's decline, as far as the next try hangs on it. */
export interface DeclineFeatures {
  /** The weight of another code than the case began with, beside that one; null: it is the same. */
  name: number | null;
  /** Where the row of the code begins; null: nobody said one. */
  row: number | null;
}

/** After a try that was declined: what is known of its code. The same reason may come with several codes, and each has its own time to wait. */
export function applyDecline(belief: CasePosterior, { name, row }: DeclineFeatures) {
  belief.thenName = name;
  if (row !== null) belief.rows = withCodeRow(belief.rows, row);
}
