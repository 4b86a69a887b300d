import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { Logger as Log } from "pino";
import type { Settings } from "../config/config.ts";
import type { Tls } from "../http/listener.ts";
import { type Heartbeat, startHeartbeat } from "../process/heartbeat.ts";
import { createLoggedProblems, type LoggedProblems } from "../process/logged-problems.ts";
import type { Store } from "../process/open-store.ts";
import { readVersion } from "../process/version.ts";
import type { Metrics } from "./metrics.ts";
import { createServiceFigures, readFreeBytes, type ServiceFigures } from "./service-figures.ts";

/** @param tls  the certificate for callers; null if this process serves none */
export function addStoreMetrics(
  { db, tenantDb, owner, ports, clock }: Pick<Store, "db" | "tenantDb" | "owner" | "ports" | "clock">,
  { webhookClientCertificate, dataDir }: Pick<Settings, "webhookClientCertificate" | "dataDir">,
  tls: Tls | null,
): ServiceFigures {
  const none = { open: 0, idle: 0, waiting: 0 };
  return createServiceFigures({
    db,
    owner,
    ports,
    pools: { worker: () => db.figures?.() ?? none, api: () => tenantDb.figures?.() ?? none },
    certificates: {
      ...(tls && tls !== "proxy" && { api: tls.cert }),
      ...(webhookClientCertificate && { webhooks: webhookClientCertificate.cert }),
    },
    freeBytes: () => readFreeBytes(dataDir),
    clock: () => clock.figures(),
  });
}

export function startProcessHeartbeat(
  metrics: Metrics,
  { db, ports }: Store,
  options: { roles: ReadonlySet<string>; log: Log; loggedProblems?: LoggedProblems | undefined },
): Heartbeat {
  const { roles, log, loggedProblems = createLoggedProblems(ports.realNow) } = options;
  const { pid } = process;
  const tryFile = () => closeSync(openSync(devNull, "r"));
  const presence = startHeartbeat({
    db,
    ports,
    log,
    version: readVersion(),
    roles: [...roles],
    loggedProblems,
    pid,
    tryFile,
  });
  metrics.watchPresence(presence.figures, loggedProblems);
  return presence;
}
