"""An independent server of the interface document, to prove that the suite condemns no innocent.

It was written from the interface document alone, without a look at the other code of
this repository, and is odd on purpose wherever the document is silent: see oddities.py.

    python3 server.py --gzip --late-logs 3 --target target.yaml

It prints "listening on ADDRESS" and serves until it is ended.
"""

import asyncio
import sys

import oddities
import setup
from api import AREAS, Api
from names import Names
from wire import Server


async def main():
    if "--list" in sys.argv[1:]:
        print("\n".join(" ".join(arguments) for arguments in oddities.variants()))
        return
    odd = oddities.parse(sys.argv[1:])
    api = Api(odd, Names(odd))
    side = setup.Setup(odd, api)

    def listener(areas):
        async def handle(request):
            if answer := side.handle(request, areas):
                return answer, False
            return await api.handle(request, areas), True

        return Server(odd, handle)

    port = await listener(AREAS[:1] if odd.hosts else AREAS).start(odd.port)
    ports = {area: port for area in AREAS}
    for area in AREAS[1:] if odd.hosts else ():
        ports[area] = await listener((area,)).start(0)
    addresses = {area: f"http://127.0.0.1:{ports[area]}{api.prefixes[area]}" for area in AREAS}
    if odd.target:
        side.write_target(odd.target, addresses, f"http://127.0.0.1:{port}/_setup")
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
