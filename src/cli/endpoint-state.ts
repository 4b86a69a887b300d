import type { Merchant } from "../domain/merchant.ts";

type EndpointState = Pick<
  Merchant,
  "webhookUrl" | "webhookPaused" | "webhookPausedAt" | "webhookPausedBy" | "webhookFailingSince"
>;

const formatSince = (at: Date | null) => (at === null ? "" : ` since ${at.toISOString().slice(0, 16)}Z`);

export function describeEndpointState({
  webhookPaused,
  webhookPausedAt,
  webhookPausedBy,
  webhookFailingSince,
}: EndpointState): string {
  const failing = webhookFailingSince === null ? "" : `every attempt has failed${formatSince(webhookFailingSince)}`;
  if (!webhookPaused) return failing === "" ? "active" : `failing: ${failing}`;
  if (webhookPausedBy === "dunlin") return `paused by Dunlin${formatSince(webhookPausedAt)}: ${failing}`;
  return `paused${formatSince(webhookPausedAt)}`;
}

export function describeEndpointAdvice(merchant: EndpointState & Pick<Merchant, "id" | "name">): string | null {
  const { id, name, webhookPaused, webhookPausedBy, webhookFailingSince } = merchant;
  if (!webhookPaused && webhookFailingSince === null) return null;
  const state = `${name} is ${describeEndpointState(merchant)}.`;
  if (!webhookPaused) return `${state} See: npx dunlin webhook test ${id}`;
  const how = `Its deliveries wait. To resume: npx dunlin merchant set ${id} --resume`;
  return webhookPausedBy === "dunlin"
    ? `${state} ${how} (test it first: npx dunlin webhook test ${id})`
    : `${state} ${how}`;
}
