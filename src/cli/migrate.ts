import { CannotDistribute } from "../postgres/distribute.ts";
import { migrate } from "../postgres/migrate.ts";
import { type Command, CommandFailure, EXIT_CODES } from "./command.ts";

export const migrateCommand: Command = {
  name: "migrate",
  usage: `[--distribute]
  --distribute  also spread the tables over the servers of a Citus cluster, by merchant; DATABASE_URL is the coordinator, as a
                superuser. Stop the service first if the database has records.`,
  summary: "Prepare the database without starting the service, as the service does when it starts",
  options: { distribute: { type: "boolean" } },
  positionals: [],
  createsDatabase: true,
  examples: [
    "DATABASE_URL=postgres://… npx dunlin migrate",
    "DATABASE_URL=postgres://… npx dunlin migrate --distribute",
  ],
  async run(context, values) {
    const distribute = values.distribute === true;
    if (distribute && context.settings.databaseUrl === null)
      throw new CommandFailure(
        "The embedded database is one server. Set DATABASE_URL to the coordinator of a Citus cluster.",
      );
    const server = await context.server();
    try {
      const { applied, spread } = await migrate(server.address, context.log, { distribute });
      context.print(applied === 0 ? "The database has all migrations." : `Applied ${applied} migrations.`);
      if (spread.length > 0) context.print(`Spread ${spread.length} tables over the servers, by merchant.`);
      else if (distribute) context.print("All tables are spread already.");
      return EXIT_CODES.ok;
    } catch (error) {
      if (error instanceof CannotDistribute) throw new CommandFailure(`The tables were not spread. ${error.message}`);
      throw error;
    } finally {
      await server.close();
    }
  },
};
