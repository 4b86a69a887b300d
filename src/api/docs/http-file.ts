import { listOperations } from "./api-reference.ts";
import { withExamples } from "./operation-body.ts";

interface Example {
  "application/json": { examples?: Record<string, { value: unknown }> };
}

const FILE_HEADER = (
  baseUrl: string,
) => `# Requests for every operation of the API and every event, for editors that support .http files.
# Set the environment variable DUNLIN_API_KEY. If Dunlin created its own certificate, the editor must trust data/tls/ca.pem.
@baseUrl = ${baseUrl}
@apiKey = {{$processEnv DUNLIN_API_KEY}}
# Your endpoint and its token, for the events at the end.
@webhookUrl = https://localhost:3000/dunlin
@webhookToken = {{$processEnv DUNLIN_WEBHOOK_TOKEN}}
`;

export function buildHttpFile(openApi: string, baseUrl: string): string {
  const requests = listOperations(JSON.parse(openApi)).flatMap(({ method, path, operation }) => {
    const { summary, security, requestBody, parameters = [] } = operation;
    const needsNoKey = security?.length === 0;
    const address = path === null ? "{{webhookUrl}}" : `{{baseUrl}}${withExamples(path, parameters)}`;
    const authorization = path === null ? "{{webhookToken}}" : "{{apiKey}}";
    const head = `${method.toUpperCase()} ${address}\n${needsNoKey ? "" : `Authorization: Bearer ${authorization}\n`}`;
    if (!requestBody) return [`### ${summary}\n${head}`];
    const examples = Object.entries((requestBody.content as Example)["application/json"].examples ?? {});
    return examples.map(
      ([name, { value }]) =>
        `### ${summary}: ${name}\n${head}Content-Type: application/json\n\n${JSON.stringify(value, null, 2)}\n`,
    );
  });
  return [FILE_HEADER(baseUrl), ...requests].join("\n");
}
