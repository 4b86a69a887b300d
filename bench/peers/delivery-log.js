const TABLE = `create table if not exists delivery_log (
  event_id text not null,
  number int2 not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  duration_ms int4 not null,
  success boolean not null,
  status int4,
  primary key (event_id, number)
)`;
const ONE = {
  name: "log_one",
  text: "insert into delivery_log values ($1, $2, $3, $4, $5, $6, $7)",
};
const MANY = {
  name: "log_many",
  text: `insert into delivery_log
    select * from unnest($1::text[], $2::int2[], $3::timestamptz[], $4::timestamptz[], $5::int4[], $6::bool[], $7::int4[])`,
};
const BATCH_MAX = 500;

export const createTable = (pool) => pool.query(TABLE);

export const lineOf = (eventId, number, startedAt, status) => {
  const endedAt = new Date();
  return [eventId, number, startedAt, endedAt, endedAt - startedAt, status >= 200 && status <= 299, status];
};

export const writeOne = (client, line) => client.query({ ...ONE, values: line });

/** The next batch collects during an insert. `add` resolves after the commit. */
export function createBatches(pool) {
  const waiting = [];
  let running = false;

  async function run() {
    running = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX);
      const values = batch[0].line.map((_, column) => batch.map(({ line }) => line[column]));
      try {
        await pool.query({ ...MANY, values });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return {
    add: (line) =>
      new Promise((resolve, reject) => {
        waiting.push({ line, resolve, reject });
        if (!running) run();
      }),
  };
}
