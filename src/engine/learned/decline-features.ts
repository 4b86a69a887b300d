import type { CasePosterior } from "./case-posterior.ts";
import { withCodeRow } from "./model-layout.ts";

/** A decline code's features for the next retry. */
export interface DeclineFeatures {
  /** The weight of a code other than the case's first, added to that one's; null if it is the same. */
  name: number | null;
  /** Start of the code's row; null if none was reported. */
  row: number | null;
}

/** One reason may come with several codes, each with its own best wait. */
export function applyDecline(posterior: CasePosterior, { name, row }: DeclineFeatures) {
  posterior.laterCodeFeature = name;
  if (row !== null) posterior.rows = withCodeRow(posterior.rows, row);
}
