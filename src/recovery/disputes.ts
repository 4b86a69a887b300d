import { isOn, presentCard } from "./card.ts";
import type { CaseView } from "./case-view.ts";

/**
 * Whether what the invoice would be charged on next is what a disputed payment was made with. In doubt it is: a customer who disputes a charge and is charged
 * again costs more than a retry brings.
 */
export function isOnDisputed(view: CaseView): boolean {
  if (view.disputed.length === 0) return false;
  const card = presentCard(view);
  return view.disputed.some((t) => isOn(t, card));
}
