# Evaluates the formula in ARGV[0] as Homebrew does on a system and processor (ARGV[1], such as
# linux-arm64), and installs from the folder of an unpacked archive (ARGV[2]) to ARGV[3]. It
# prints the attributes, a line each. Homebrew itself needs the network.
require "fileutils"

class Place
  def initialize(path) = @path = path

  def install(*files)
    FileUtils.mkdir_p(@path)
    files.each do |f|
      (f.is_a?(Hash) ? f : { f => File.basename(f) }).each { |from, to| FileUtils.cp(from, File.join(@path, to)) }
    end
  end

  def to_s = @path
end

class Formula
  SYSTEM, PROCESSOR = ARGV[1].split("-")
  class << self
    %i[desc homepage version license url sha256].each do |name|
      define_method(name) { |value| puts "#{name} #{value}" }
    end
    def on_macos = SYSTEM == "darwin" && yield
    def on_linux = SYSTEM == "linux" && yield
    def on_arm = PROCESSOR == "arm64" && yield
    def on_intel = PROCESSOR == "amd64" && yield
    def test = nil
  end
  { bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d", fish_completion: "share/fish", zsh_completion: "share/zsh" }.each do |name, path|
    define_method(name) { Place.new(File.join(ARGV[3], path)) }
  end
end

load File.expand_path(ARGV[0])
Dir.chdir(ARGV[2]) { Understudy.new.install }
