class Understudy < Formula
  desc "Local server for QStash and Workflow applications, with a contract test suite"
  homepage "https://github.com/understudy-mock/understudy"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@RELEASE@/understudy-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SUM-darwin-arm64@"
    end
    on_intel do
      url "@RELEASE@/understudy-@VERSION@-darwin-amd64.tar.gz"
      sha256 "@SUM-darwin-amd64@"
    end
  end
  on_linux do
    on_arm do
      url "@RELEASE@/understudy-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SUM-linux-arm64@"
    end
    on_intel do
      url "@RELEASE@/understudy-@VERSION@-linux-amd64.tar.gz"
      sha256 "@SUM-linux-amd64@"
    end
  end

  def install
    bin.install "understudy", "understudy-conform"
    bash_completion.install "completions/understudy.bash" => "understudy"
    fish_completion.install "completions/understudy.fish"
    zsh_completion.install "completions/understudy.zsh" => "_understudy"
    man1.install "man/man1/understudy.1"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/understudy version")
  end
end
