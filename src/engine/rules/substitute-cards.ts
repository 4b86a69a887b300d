/** An attempt that names its card. */
export interface CardCharge {
  invoiceId: string;
  card: string;
}

/**
 * The cards of a customer that stand in for another one: charged after it on the same invoice, while it has been charged again since. A try may fall on them as well,
 * so what they were declined for counts with what the other one was. A card that took another's place for good is none.
 *
 * @param charged  the customer's attempts, oldest first
 */
export function findSubstituteCards(charged: readonly CardCharge[]): ReadonlySet<string> {
  const last = new Map(charged.map(({ card }, index) => [card, index]));
  const before = new Map<string, string>();
  const found = new Set<string>();
  for (const [index, { invoiceId, card }] of charged.entries()) {
    const other = before.get(invoiceId);
    if (other !== undefined && other !== card && last.get(other)! > index) found.add(card);
    before.set(invoiceId, card);
  }
  return found;
}
