import type { Merchant } from "../../domain/merchant.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { PageError } from "../page-error.ts";
import type { Visit } from "../visit.ts";

export const CHANGED_MESSAGE =
  "Nothing was saved. The settings changed after this page was opened, or you switched to another merchant. Open the page again to see the current settings.";

export async function findOwnMerchant({ db, merchantId }: Visit): Promise<Merchant> {
  const merchant = await findMerchant(db, merchantId);
  if (!merchant) throw new PageError(404, "This merchant no longer exists.");
  return merchant;
}
