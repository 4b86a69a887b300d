import type { Tls } from "./api/listener.ts";
import type { Settings } from "./config.ts";
import type { Metrics } from "./metrics.ts";
import type { Store } from "./open.ts";

/** Shows in the metrics how the database, its clock, this machine's disk and the certificates stand. @param tls  what callers are shown; null: nobody calls */
export function watchStore(metrics: Metrics, store: Store, settings: Settings, tls: Tls | null) {
  const { db, walled, owner, ports, clock } = store;
  const none = { open: 0, idle: 0, waiting: 0 };
  const { webhookClientCertificate } = settings;
  metrics.watchClock(() => clock.figures());
  metrics.watchService({
    db,
    owner,
    ports,
    pools: { worker: () => db.figures?.() ?? none, api: () => walled.figures?.() ?? none },
    certificates: {
      ...(tls && tls !== "proxy" && { api: tls.cert }),
      ...(webhookClientCertificate && { webhooks: webhookClientCertificate.cert }),
    },
    dataDir: settings.dataDir,
  });
}
