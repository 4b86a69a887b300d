import type { Tls } from "./api/listener.ts";
import type { Metrics } from "./metrics.ts";
import type { Store } from "./open.ts";
import { type Presence, startPresence } from "./presence.ts";
import type { StartOptions } from "./start.ts";
import { createTroubles } from "./troubles.ts";
import { version } from "./version.ts";

/**
 * Shows in the metrics how the processes, the database, its clock, this machine's disk and the certificates stand, and tells the other processes of this one.
 *
 * @param tls  what callers are shown; null: nobody calls
 */
export function watchStore(metrics: Metrics, store: Store, options: StartOptions, tls: Tls | null): Presence {
  const { db, walled, owner, ports, clock } = store;
  const { settings, roles, log, troubles = createTroubles(ports.realNow) } = options;
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
  const { pid } = process;
  const presence = startPresence({ db, ports, log, version: version(), roles: [...roles], troubles, pid });
  metrics.watchPresence(presence.figures, troubles);
  return presence;
}
