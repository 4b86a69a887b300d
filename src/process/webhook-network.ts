import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../config/config.ts";
import { type AllowedAddress, parseAllowList } from "../delivery/https/address-guard.ts";
import type { ClientCertificate } from "../delivery/https/guarded-dial.ts";
import type { Tx } from "../postgres/database.ts";
import { listConnectorPorts } from "../tables/connections.ts";

/** Where webhooks may go, and which certificates they trust, besides public ones. */
export interface WebhookNetwork {
  /** From DUNLIN_WEBHOOK_ALLOW, and the ports of connectors on this machine. */
  allow: AllowedAddress[];
  extraCa: string | null;
  clientCertificate: ClientCertificate | null;
}

type NetworkSettings = Pick<Settings, "webhookAllow" | "webhookCa" | "webhookClientCertificate" | "dataDir">;

/**
 * A connector on this machine listens with the certificate that Dunlin made, whose authority can sign no other name: its key was
 * discarded.
 */
export async function loadWebhookNetwork(settings: NetworkSettings, tx: Tx): Promise<WebhookNetwork> {
  const ownCa = join(settings.dataDir, "tls", "ca.pem");
  const authorities = [settings.webhookCa, existsSync(ownCa) ? readFileSync(ownCa, "utf8") : null];
  const network = {
    allow: [] as AllowedAddress[],
    extraCa: authorities.filter((pem) => pem !== null).join("\n") || null,
    clientCertificate: settings.webhookClientCertificate,
  };
  await updateAllowed(network, settings, tx);
  return network;
}

/** Changes the list in place, because connections read it whenever they are opened. */
export async function updateAllowed({ allow }: WebhookNetwork, { webhookAllow }: NetworkSettings, tx: Tx) {
  const ports = await listConnectorPorts(tx);
  const local = parseAllowList(ports.map((port) => `127.0.0.1/32:${port}`).join(","));
  allow.splice(0, allow.length, ...parseAllowList(webhookAllow), ...local);
}
