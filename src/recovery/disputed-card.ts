import { currentCard, mayUseCard } from "./card.ts";
import type { LoadedCase } from "./loaded-case.ts";

/** An unknown card counts as the disputed one: another dispute costs more than a retry brings. */
export function wouldChargeDisputedCard(view: LoadedCase): boolean {
  if (view.disputed.length === 0) return false;
  const card = currentCard(view);
  return view.disputed.some((t) => mayUseCard(t, card));
}
