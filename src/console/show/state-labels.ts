import type { DeliveryState } from "../../tables/delivery-states.ts";
import { type Html, type HtmlPart, html } from "../html.ts";

export type StateKind = "good" | "warn" | "bad" | "tide" | "";

/** Color alone is not accessible. */
export const stateLabel = (words: HtmlPart, kind: StateKind): Html => html`<span class="tag ${kind}">${words}</span>`;

const DELIVERY_KINDS: Record<DeliveryState, StateKind> = {
  waiting: "tide",
  delivered: "good",
  exhausted: "bad",
  withdrawn: "",
};
export const deliveryStateLabel = (delivery: DeliveryState): Html => stateLabel(delivery, DELIVERY_KINDS[delivery]);

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** "DE" becomes "Germany". An unknown code stays. */
export const countryName = (code: string | null): string | null =>
  code === null ? null : ((/^[A-Z]{2}$/.test(code) ? countryNames.of(code) : undefined) ?? code);

export const toSpacedWords = (word: string) => word.toLowerCase().replaceAll("_", " ");
