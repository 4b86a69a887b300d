import type { CasePosterior } from "./case-posterior.ts";
import { withCodeRow } from "./model-layout.ts";

export interface DeclineFeatures {
  /** Added to the case's first code's weight; null if it is the same code. */
  name: number | null;
  /** Null if no code was reported. */
  row: number | null;
}

/** One reason may have several codes, each with its own best wait. */
export function applyDecline(posterior: CasePosterior, { name, row }: DeclineFeatures) {
  posterior.laterCodeFeature = name;
  if (row !== null) posterior.rows = withCodeRow(posterior.rows, row);
}
