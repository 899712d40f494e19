"use strict";
// Where the server of this platform is: in the package that the package manager
// chose by os and cpu among the optional dependencies.

const { version, optionalDependencies = {} } = require("./package.json");

/** The path of the binary; throws with what to do when there is none. */
function binaryPath(platform = `${process.platform}-${process.arch}`) {
  if (process.env.UNDERSTUDY_BINARY) return process.env.UNDERSTUDY_BINARY; // another one, as for the package of other languages
  const name = `understudy-mock-${platform}`;
  const exe = platform.startsWith("win32") ? ".exe" : "";
  try {
    return require.resolve(`${name}/bin/understudy${exe}`);
  } catch (cause) {
    const supported = Object.keys(optionalDependencies);
    if (!supported.includes(name)) {
      const list = supported.map((other) => other.slice("understudy-mock-".length)).join(", ");
      throw new Error(`understudy-mock: no binary for ${platform}; the package has binaries for ${list}`, { cause });
    }
    throw new Error(
      `understudy-mock: the optional dependency ${name}, which holds the binary, is not installed\n` +
        "  Install without --omit=optional, --no-optional and without omit=optional in .npmrc.\n" +
        "  If node_modules or the lock file was made on another platform: delete both, and install again.\n" +
        `  Or install it by name: npm install --save-dev ${name}@${version}`,
      { cause },
    );
  }
}

module.exports = { binaryPath };
