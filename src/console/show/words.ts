import type { DeliveryState } from "../../store/delivery-states.ts";
import { type Html, html, type Part } from "../html.ts";

type Kind = "good" | "warn" | "bad" | "";

/** A state, coloured and in words: colour alone tells nobody anything. */
export const state = (words: Part, kind: Kind): Html => html`<span class="state ${kind}">${words}</span>`;

const DELIVERY_KINDS: Record<DeliveryState, Kind> = {
  waiting: "warn",
  delivered: "good",
  exhausted: "bad",
  withdrawn: "",
};
export const deliveryState = (delivery: DeliveryState): Html => state(delivery, DELIVERY_KINDS[delivery]);

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** "DE" is "Germany"; what nobody knows stays as it is. */
export const countryName = (code: string | null): string | null =>
  code === null ? null : ((/^[A-Z]{2}$/.test(code) ? countryNames.of(code) : undefined) ?? code);

/** "recovery_action" is "recovery action". */
export const spaced = (word: string) => word.toLowerCase().replaceAll("_", " ");
