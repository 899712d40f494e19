{
  description = "A local server for QStash and Workflow applications, and a contract test suite for that interface";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "@VERSION@";
      archives = {
        aarch64-darwin = { platform = "darwin-arm64"; sha256 = "@SUM-darwin-arm64@"; };
        aarch64-linux = { platform = "linux-arm64"; sha256 = "@SUM-linux-arm64@"; };
        x86_64-darwin = { platform = "darwin-amd64"; sha256 = "@SUM-darwin-amd64@"; };
        x86_64-linux = { platform = "linux-amd64"; sha256 = "@SUM-linux-amd64@"; };
      };
    in
    {
      packages = builtins.mapAttrs
        (system: archive:
          let pkgs = nixpkgs.legacyPackages.${system}; in
          {
            default = pkgs.stdenvNoCC.mkDerivation {
              pname = "understudy";
              inherit version;
              src = pkgs.fetchurl {
                url = "@RELEASE@/understudy-${version}-${archive.platform}.tar.gz";
                inherit (archive) sha256;
              };
              nativeBuildInputs = [ pkgs.installShellFiles ];
              dontStrip = true; # the programs are static, and the release has their checksums
              installPhase = ''
                install -Dm755 -t $out/bin understudy understudy-conform
                installManPage man/man1/understudy.1
                installShellCompletion completions/understudy.{bash,fish,zsh}
              '';
              meta = {
                homepage = "https://github.com/understudy-mock/understudy";
                license = pkgs.lib.licenses.asl20;
                mainProgram = "understudy";
              };
            };
          })
        archives;
    };
}
