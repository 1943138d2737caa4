"""A server of the Model Context Protocol with the package `mcp`: pip install mcp"""

from mcp.server.mcpserver import MCPServer

server = MCPServer("bank")
ACCOUNTS = {"savings": 1200, "rent": 300}


@server.tool()
def find_account(account: str) -> dict[str, int | str]:
    """What an account is for, and its balance in dollars."""
    if account not in ACCOUNTS:
        return {"error": f"there is no account {account}; there are {', '.join(ACCOUNTS)}"}
    return {"account": account, "dollars": ACCOUNTS[account]}


@server.tool()
def list_accounts() -> list[str]:
    """The names of all accounts."""
    return list(ACCOUNTS)


server.run()
