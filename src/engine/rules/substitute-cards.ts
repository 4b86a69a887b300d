export interface CardCharge {
  invoiceId: string;
  card: string;
}

/**
 * Cards charged after another one on the same invoice that has been charged again since. A retry may fall on either, so declines
 * on both count. A permanent replacement is no substitute.
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
