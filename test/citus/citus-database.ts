import { randomBytes } from "node:crypto";
import pino from "pino";
import { type Connection, openDatabase, prepared } from "../../src/postgres/database.ts";
import { migrate } from "../../src/postgres/migrate.ts";

/** A Citus cluster for tests: the address of any database of its coordinator that knows the workers, as a superuser. */
export const CITUS_URL = process.env.DUNLIN_TEST_CITUS_URL;
/** Why a test that needs a cluster is skipped; false with a cluster. */
export const CITUS_SKIP =
  CITUS_URL === undefined && "DUNLIN_TEST_CITUS_URL names no Citus cluster, so only the text of statements is checked";

interface Node {
  host: string;
  port: number;
  isCoordinator: boolean;
}

const NODES = prepared(
  "",
  `select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node where noderole = 'primary' order by groupid`,
);

/** Creates a database on every server of the cluster, with the tables spread by merchant unless `distribute` is false. */
export const createCitusDatabase = (clusterUrl: string, { distribute = true } = {}) =>
  // Roles belong to the whole cluster, and PostgreSQL refuses changes of one role at the same time.
  onDatabase(clusterUrl, async (connection) => {
    await connection.run(prepared("", "select pg_advisory_lock(7261)"));
    return await createDatabase(clusterUrl, distribute);
  });

async function createDatabase(
  clusterUrl: string,
  distribute: boolean,
): Promise<{ address: { url: string }; drop(): Promise<void> }> {
  const nodes = await onDatabase(clusterUrl, async (connection) => (await connection.run<Node>(NODES)).rows);
  const name = `test_${randomBytes(8).toString("hex")}`;
  const urlOf = ({ host, port, isCoordinator }: Node, database: string) => {
    const url = new URL(clusterUrl);
    if (!isCoordinator) [url.hostname, url.port] = [host, String(port)];
    url.pathname = `/${database}`;
    return url.href;
  };
  const maintenance = new URL(clusterUrl).pathname.slice(1);
  const [coordinator, ...workers] = nodes;
  if (!coordinator?.isCoordinator)
    throw new Error(`${clusterUrl} knows no coordinator: call citus_set_coordinator_host`);
  for (const node of nodes) {
    // Citus would create it on all servers by itself in some settings.
    await onDatabase(urlOf(node, maintenance), (connection) =>
      runText(connection, `set citus.enable_create_database_propagation = off; create database ${name}`),
    );
    await onDatabase(urlOf(node, name), (connection) => runText(connection, "create extension citus"));
  }
  const url = urlOf(coordinator, name);
  await onDatabase(url, async (connection) => {
    await runText(connection, `select citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`);
    for (const { host, port } of workers) await runText(connection, `select citus_add_node('${host}', ${port})`);
    if (workers.length === 0)
      await runText(
        connection,
        `select citus_set_node_property('${coordinator.host}', ${coordinator.port}, 'shouldhaveshards', true)`,
      );
  });
  await migrate({ url }, pino({ level: "error" }), { allowDataLoss: true, distribute });
  return {
    address: { url },
    async drop() {
      for (const node of nodes)
        await onDatabase(urlOf(node, maintenance), (connection) =>
          runText(connection, `set citus.enable_create_database_propagation = off; drop database ${name} with (force)`),
        );
    },
  };
}

async function runText(connection: Connection, text: string) {
  for (const statement of text.split("; ")) await connection.run(prepared("", statement));
}

async function onDatabase<T>(url: string, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await openDatabase({ url }, 1, () => {}).connect();
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}
