import { GenericContainer, Wait } from "testcontainers";

const port = 8080;
const controlToken = "control"; // the control API is closed to other machines without one
const token = "test-token";

/**
 * Starts the stand-in in a container.
 *
 * @param {Record<string, string>} environment flags of `understudy serve`, such as UNDERSTUDY_CLOCK
 */
export async function startUnderstudy(environment = {}) {
  const container = await new GenericContainer(process.env.UNDERSTUDY_IMAGE ?? "ghcr.io/understudy-mock/understudy:latest")
    .withEnvironment({ UNDERSTUDY_ACCOUNT: `test:${token}`, UNDERSTUDY_CONTROL_TOKEN: controlToken, ...environment })
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHttp("/_understudy/readyz", port))
    .start();
  const url = `http://${container.getHost()}:${container.getMappedPort(port)}`;

  /** @type {(method: string, path: string, body?: unknown) => Promise<any>} */
  const control = async (method, path, body) => {
    const answer = await fetch(`${url}/_understudy/${path}`, {
      method,
      headers: { Authorization: `Bearer ${controlToken}`, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };

  return {
    url,
    token,
    /** @param {string} by a duration such as 1h */
    advance: (by) => control("POST", "clock/advance", { by }),
    deliveries: async () => (await control("GET", "deliveries")).entries,
    stop: () => container.stop(),
  };
}
